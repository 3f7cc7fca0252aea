"""Rooms: phones answer the question of a lecture, and the teacher's screen counts."""
