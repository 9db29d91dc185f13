"""What tests share: a scripted model, fake tools, and servers on the loopback interface."""
