CREATE TABLE reservations (seat TEXT PRIMARY KEY, holder TEXT NOT NULL);
