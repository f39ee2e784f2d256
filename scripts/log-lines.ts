import { parseAst } from 'vitest/node'
import type { SourceFile } from '../tests/source-files.ts'

export type LogLevel = 'warn' | 'error' | 'fatal'

/** A log line of the sources, of level warn or above. */
export interface LogLine {
  readonly level: LogLevel
  readonly message: string
  /** Path of the file, from the repository's root. */
  readonly path: string
}

interface Node {
  readonly type: string
  readonly [member: string]: unknown
}

/**
 * Every line of level warn and above that mesh, agent and browser can log; each message once for each file and
 * level.
 */
export function readLogLines(files: readonly SourceFile[]): readonly LogLine[] {
  const lines = files
    .filter(
      ({ path, isTest }) => !isTest && /^packages\/(?!cli|client|dashboard|protocol)\w+\/src\//.test(path),
    )
    .filter(({ text }) => /\.(?:warn|error|fatal)\(/.test(text))
    .flatMap(({ path, text }) => callsIn(parseAst(text, { lang: 'ts' })).map((call) => ({ ...call, path })))
  const keyOf = ({ level, message, path }: LogLine) => `${message}\n${level}\n${path}`
  return [...new Map(lines.map((line) => [keyOf(line), line])).values()].toSorted(
    (one, other) => one.path.localeCompare(other.path) || one.message.localeCompare(other.message),
  )
}

function callsIn(value: unknown): readonly Omit<LogLine, 'path'>[] {
  if (Array.isArray(value)) return value.flatMap(callsIn)
  if (!isNode(value)) return []
  return [...ownCall(value), ...Object.values(value).flatMap(callsIn)]
}

/** `log.warn(fields, message)`: the texts that its second argument can be. */
function ownCall(node: Node): readonly Omit<LogLine, 'path'>[] {
  if (node.type !== 'CallExpression' || !isNode(node['callee'])) return []
  const { type, object, property } = node['callee']
  if (type !== 'MemberExpression' || !isNode(object) || !isNode(property)) return []
  const level = property['name']
  if (level !== 'warn' && level !== 'error' && level !== 'fatal') return []
  const receiver = object['name'] ?? (isNode(object['property']) ? object['property']['name'] : undefined)
  if (typeof receiver !== 'string' || !/log$/i.test(receiver)) return []
  const [, message] = Array.isArray(node['arguments']) ? (node['arguments'] as readonly unknown[]) : []
  return textsOf(message).map((text) => ({ level, message: text }))
}

/** The string literals that an expression can give: itself, or both branches of a condition. */
function textsOf(value: unknown): readonly string[] {
  if (!isNode(value)) return []
  if (value.type === 'Literal' && typeof value['value'] === 'string') return [value['value']]
  if (value.type === 'ConditionalExpression') {
    return [...textsOf(value['consequent']), ...textsOf(value['alternate'])]
  }
  return []
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
