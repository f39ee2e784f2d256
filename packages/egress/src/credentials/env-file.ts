import { Problem } from '@flotilla/protocol/problem'
import { readTextFile, setFileMode, stampOf } from '@flotilla/foundation/config'
import type { FileEditor } from '@flotilla/foundation/config'

/** Only the owner can read and write the file. */
const envFileMode = 0o600

/** Matches one assignment line, which may end with CRLF. */
const assignment = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)\r?$/

/**
 * Parses a `.env` strictly: one `KEY=value` per line, single or double quotes, `#` comments, no interpolation and
 * no escapes but `\"` and `\\` in double quotes. Throws the Problem `unprocessable` with the line, never with the
 * value. Pure.
 */
export function parseEnvText(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const match = assignment.exec(line)
    const value = match ? parseValue(match[2] ?? '') : null
    if (!match?.[1] || value === null) {
      throw new Problem('unprocessable', {
        detail: `.env line ${index + 1}: expected KEY=value on one line, quotes closed`,
        extra: { file: '.env', line: index + 1 },
      })
    }
    values.set(match[1], value)
  }
  return values
}

function parseValue(raw: string): string | null {
  const quote = raw[0]
  if (quote === "'" || quote === '"') return parseQuoted(raw, quote)
  const value = raw.replace(/\s+#.*$/, '').trim()
  return isOneLine(value) && !/['"]/.test(value) ? value : null
}

function parseQuoted(raw: string, quote: string): string | null {
  const form = quote === "'" ? /^'([^']*)'\s*(?:#.*)?$/ : /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/
  const inner = form.exec(raw)?.[1]
  if (inner === undefined || !isOneLine(inner)) return null
  return quote === "'" ? inner : inner.replace(/\\(["\\])/g, '$1')
}

/** Reads the file. Removes the permissions of other users from the file, if any exist. */
export async function readEnvFile(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readTextFile(path)
  if (text === null) return new Map()
  await closeToOthers(path)
  return parseEnvText(text)
}

/**
 * Sets variables in one write and removes those whose value is null. Also removes lines that `replaces` selects;
 * other lines stay unchanged. Throws the Problem `unprocessable` for a value with a line end.
 */
export async function setEnvValues(
  editor: FileEditor,
  path: string,
  {
    values,
    replaces = () => false,
  }: {
    readonly values: Readonly<Record<string, string | null>>
    readonly replaces?: (variable: string) => boolean
  },
): Promise<void> {
  const added = Object.entries(values).flatMap(([variable, value]) =>
    value === null ? [] : [assignmentLine(variable, value)],
  )
  const isReplaced = (variable: string | undefined) =>
    variable !== undefined && (Object.hasOwn(values, variable) || replaces(variable))
  await editor.edit(
    path,
    (text) => {
      const lines = (text ?? '').split('\n').filter((old) => !isReplaced(assignment.exec(old)?.[1]))
      while (lines.at(-1) === '') lines.pop()
      return [...lines, ...added, ''].join('\n')
    },
    envFileMode,
  )
}

function assignmentLine(variable: string, value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable) || !isOneLine(value)) {
    throw new Problem('unprocessable', {
      detail: `${variable} cannot be written to .env: one line of text is expected`,
    })
  }
  if (!value.includes("'")) return `${variable}='${value}'`
  return `${variable}="${value.replace(/[\\"]/g, String.raw`\$&`)}"`
}

async function closeToOthers(path: string): Promise<void> {
  const stamp = await stampOf(path)
  if (stamp !== null && (stamp.mode & 0o077) !== 0) await setFileMode(path, envFileMode)
}

function isOneLine(value: string): boolean {
  return !/[\r\n\0]/.test(value)
}
