"""The packs' rules, enforced on every plan and every tool call, whoever made them."""
