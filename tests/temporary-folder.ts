import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/** Everything that a test run leaves in the system's temporary folder goes with one folder at its end. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'flt-'))
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
