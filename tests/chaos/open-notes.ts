import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChaosOptions } from './run-chaos.ts'

/** One observation with its evidence. */
export interface Note {
  readonly what: string
  /** Lines of evidence by their source, such as the journal. */
  readonly evidence: Readonly<Record<string, readonly string[]>>
}

/**
 * The observations of a chaos test so far. Each is written to the file at once, so that it is kept however the test
 * ends.
 */
export interface Notes {
  readonly path: string
  put(note: Note): void
  /** Returns the notes as text for the report. */
  tell(): string
}

/** Notes beyond this number add nothing new, and a person has to read the file. */
const notesMax = 500
const listedMax = 20
const toldLinesMax = 6

export function openNotes(
  folder: string,
  { runtime, seed, runs }: Pick<ChaosOptions, 'runtime' | 'seed' | 'runs'>,
): Notes {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${runtime}-${seed}-${runs}.notes.jsonl`)
  writeFileSync(path, '')
  const notes: Note[] = []
  return {
    path,
    put(note) {
      if (notes.length >= notesMax) return
      notes.push(note)
      appendFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), ...note })}\n`)
    },
    tell() {
      if (notes.length === 0) return 'Nothing was noted.'
      const more = notes.length - listedMax
      return [
        `Noted, with all of it in ${path}:`,
        ...notes.slice(0, listedMax).flatMap(describeNote),
        ...(more > 0 ? [`... and ${more} more`] : []),
        ...(notes.length === notesMax ? [`Nothing was noted any more after ${notesMax}.`] : []),
      ].join('\n')
    },
  }
}

function describeNote({ what, evidence }: Note): string[] {
  const lines = Object.entries(evidence).flatMap(([name, all]) => all.map((line) => `    ${name}: ${line}`))
  return [what, ...lines.slice(-toldLinesMax).map((line) => line.slice(0, 300))]
}
