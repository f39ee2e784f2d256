import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { checkpointSchema } from './journal-checkpoints.ts'
import type { Checkpoint } from './journal-checkpoints.ts'

/**
 * Checkpoints outside of the database: an attacker who can only write to the database cannot undo what a checkpoint
 * covers. One line each, oldest first, in `data/journal-anchors.jsonl`.
 */
export interface JournalAnchors {
  /** Returns the file's checkpoints, with null for an invalid line; an empty list if the file does not exist. */
  read(): readonly (Checkpoint | null)[]
  /** The checkpoint is on the disk when this returns. */
  add(checkpoint: Checkpoint): void
}

/** If the file has more lines than this, the older half of them is deleted. */
const linesMax = 2000

export function createAnchorFile(path: string): JournalAnchors {
  function lines(): readonly string[] {
    return existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
      : []
  }

  /**
   * Writes the whole text or nothing: half a line, as a full disk would leave it, would look like a forged anchor.
   */
  function write(target: string, flags: string, text: string): void {
    const file = openSync(target, flags, 0o600)
    try {
      const { size } = fstatSync(file)
      try {
        writeFileSync(file, text)
        fsyncSync(file)
      } catch (error) {
        ftruncateSync(file, size)
        throw error
      }
    } finally {
      closeSync(file)
    }
  }

  return {
    read: () => lines().map(parseLine),
    add(checkpoint) {
      const line = `${JSON.stringify(checkpoint)}\n`
      const known = lines()
      if (known.length < linesMax) {
        write(path, 'a', line)
        return
      }
      write(`${path}.next`, 'w', `${known.slice(linesMax / 2).join('\n')}\n${line}`)
      renameSync(`${path}.next`, path)
    },
  }
}

function parseLine(line: string): Checkpoint | null {
  try {
    return checkpointSchema.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}
