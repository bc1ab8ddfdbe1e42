-- A lending library, as its application made it: the data of slow.log. No table says a collation.
CREATE TABLE reader (
  id int PRIMARY KEY,
  name varchar(40) NOT NULL,
  street varchar(60) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE book (
  id int PRIMARY KEY,
  title varchar(80) NOT NULL,
  shelf varchar(10) NOT NULL,
  copies int NOT NULL,
  KEY by_shelf (shelf)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE loan (
  id int AUTO_INCREMENT PRIMARY KEY,
  reader_id int NOT NULL,
  book_id int NOT NULL,
  taken datetime NOT NULL,
  KEY by_reader (reader_id),
  KEY by_book (book_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO reader VALUES
  (1, 'Ada', 'Hauptstraße 1'), (2, 'Bela', 'Hauptstrasse 1'), (3, 'Čeněk', 'Ring 7'),
  (4, 'Zoë', 'Ring 9'), (5, 'Ove', 'Åvej 3');
INSERT INTO book VALUES
  (1, 'Trees 🌲', 'N1', 4), (2, 'Fish 🐟', 'N2', 2), (3, 'Kitchens', 'H1', 3), (4, 'Roofs', 'H1', 1),
  (5, 'Maps', 'G4', 2);
INSERT INTO loan (reader_id, book_id, taken) VALUES
  (1, 2, '2026-11-02 10:00:00'), (2, 3, '2026-11-03 11:30:00'), (1, 5, '2026-11-05 09:10:00'),
  (4, 1, '2026-11-09 16:45:00');
