"""The chest radiograph pack."""
