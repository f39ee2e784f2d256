/**
 * Browsers that a person controls or is asked to control, the runs that wait for them, and the state of the
 * CAPTCHA solver.
 */
export const browserSchema = `
CREATE TABLE browser_hand_overs (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  taken_by TEXT,
  host TEXT NOT NULL,
  url TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE browser_waits (
  run_id TEXT NOT NULL,
  hand_over_id TEXT NOT NULL,
  PRIMARY KEY (run_id, hand_over_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE captcha_solver (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL) STRICT;
`
