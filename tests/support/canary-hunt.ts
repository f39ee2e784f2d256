import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** A part of every canary of one kind; finding it in any spelling is a leak. */
export interface Canary {
  readonly name: string
  /** At least twelve letters and digits. */
  readonly value: string
}

export interface Finding {
  readonly canary: string
  readonly spelling: string
  readonly place: string
}

/** Number of characters that identify a value when only a part of the value leaked. */
const knownChars = 12

interface Needle {
  readonly canary: string
  readonly spelling: string
  readonly bytes: Buffer
}

/** Searches texts, folders and databases for canaries, in every spelling that a server or a log is likely to use. */
export function createCanaryHunt(canaries: readonly Canary[]) {
  const needles = canaries.flatMap(needlesOf)
  const findings: Finding[] = []
  let bytesSearched = 0
  let placesSearched = 0

  function search(place: string, content: string | Uint8Array): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content)
    bytesSearched += bytes.length
    placesSearched++
    const folded = Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1')
    for (const { canary, spelling, bytes: needle } of needles) {
      const within = spelling.startsWith('base64') ? bytes : folded
      if (within.includes(needle)) findings.push({ canary, spelling, place })
    }
  }

  /** Searches every file below a folder, and the file names. */
  async function searchFolder(folder: string, except: readonly string[] = []): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name)
      search(`the name ${path}`, path)
      if (entry.isFile() && !except.includes(path)) search(path, await readFile(path).catch(() => ''))
    }
  }

  /** Searches every row of every table, and the bytes of the file. */
  function searchDatabase(path: string): number {
    const database = new DatabaseSync(path, { readOnly: true })
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
    let rows = 0
    for (const table of tables) {
      const name = String(table['name'])
      for (const row of database.prepare(`SELECT * FROM "${name}"`).all()) {
        rows++
        search(`table ${name}`, Object.values(row).map(textOf).join('\n'))
      }
    }
    database.close()
    return rows
  }

  return {
    search,
    searchFolder,
    searchDatabase,
    findings: () => findings,
    searched: () => ({ bytes: bytesSearched, places: placesSearched }),
  }
}

export type CanaryHunt = ReturnType<typeof createCanaryHunt>

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return typeof value === 'string'
    ? value
    : JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? `${inner}` : inner))
}

function needlesOf({ name, value }: Canary): Needle[] {
  const bytes = Buffer.from(value)
  const known = value.slice(0, knownChars)
  const tail = value.slice(-knownChars)
  const base64 = [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return digits.slice(Math.ceil((before * 8) / 6), Math.ceil((before * 8) / 6) + knownChars)
  })
  return [
    ['its beginning', known.toLowerCase()],
    ['its end', tail.toLowerCase()],
    ['backwards', Array.from(known).toReversed().join('').toLowerCase()],
    ['hex', Buffer.from(known).toString('hex')],
    ['percent-encoded', [...Buffer.from(known)].map((byte) => `%${byte.toString(16)}`).join('')],
    [
      'code points',
      Array.from(known)
        .map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
        .join(''),
    ],
    ['UTF-16', Buffer.from(known.toLowerCase(), 'utf16le').toString('latin1')],
    ...base64.map((digits, at) => [`base64 at ${at}`, digits]),
    ...base64.map((digits, at) => [`base64url at ${at}`, digits.replaceAll('+', '-').replaceAll('/', '_')]),
  ].map(([spelling = '', text = '']) => ({ canary: name, spelling, bytes: Buffer.from(text, 'latin1') }))
}
