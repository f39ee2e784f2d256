import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'

/** Lines that are remembered from one conversation to the next. */
const linesMax = 500
/** Longer lines were pasted and are not stored. */
const lineMaxChars = 2000

/** Where a home stores the lines typed into its conversations; readable by its owner only. */
const historyPath = (home: string): string => join(home, 'data', 'typed-lines.json')

const historySchema = z.array(z.string())

/** Returns the lines of earlier conversations, newest first; empty if the file is missing or unreadable. */
export async function readTypedHistory(home: string): Promise<string[]> {
  try {
    const kept = historySchema.safeParse(parseJsonLine(await readFile(historyPath(home), 'utf8')))
    return kept.success ? kept.data.slice(0, linesMax) : []
  } catch {
    return []
  }
}

/** Stores the lines, newest first. Ignores a home that is not writable, because the history is a convenience. */
export async function keepTypedHistory(home: string, lines: readonly string[]): Promise<void> {
  const path = historyPath(home)
  const kept = lines.filter((line) => line.length <= lineMaxChars).slice(0, linesMax)
  const beside = `${path}.${process.pid}`
  try {
    await writeFile(beside, JSON.stringify(kept), { mode: 0o600 })
    await rename(beside, path)
  } catch {
    return
  }
}
