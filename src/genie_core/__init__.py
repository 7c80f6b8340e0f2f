"""A headless engine and room for group chats in which several people's agents take part."""
