"""The chat with the assistant: dock, conversation, cards, questions to the user, answers."""
