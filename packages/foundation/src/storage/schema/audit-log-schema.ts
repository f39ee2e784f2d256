/**
 * The audit log as a hash chain, and the events of the fleet. A checkpoint says that the chain was intact up to it
 * (`verified`), that rows up to it were deleted (`pruned`), or that a person accepted a break (`accepted`). `seal`
 * is a MAC under the secret of the mesh: write access to the database alone cannot forge one.
 */
export const auditLogSchema = `
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX journal_permissions ON journal (subject, seq)
  WHERE action IN ('permission.granted', 'permission.changed', 'permission.revoked');

CREATE TABLE journal_head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  count INTEGER NOT NULL,
  hash TEXT NOT NULL,
  seal TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE journal_checkpoints (
  seq INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('verified', 'pruned', 'accepted')),
  at INTEGER NOT NULL,
  seal TEXT NOT NULL
) STRICT;

CREATE TABLE permissions_seen (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  records TEXT NOT NULL,
  defaults_told INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;

CREATE TABLE event_sequence (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  reserved_until INTEGER NOT NULL,
  dropped_until INTEGER NOT NULL
) STRICT;
`
