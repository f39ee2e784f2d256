import { permissiveLicences } from './permissive-licences.ts'

/** Longest expression that is read, in characters. */
const expressionMaxChars = 500

/**
 * Whether a licence field allows permissive use: OR needs one permissive side, AND needs all; AND binds
 * tighter and parentheses group, as in SPDX. Text that is no expression counts as one name. Pure.
 */
export function isPermissive(expression: string): boolean {
  const text = expression.trim()
  if (text.length > expressionMaxChars) return false
  if (!/\s(?:OR|AND|WITH)\b|\(/.test(text)) return isListed(text)
  const tokens = text.match(/\(|\)|[^\s()]+/g) ?? []
  const parser = { tokens, at: 0 }
  const value = readOr(parser)
  return value && parser.at === tokens.length
}

interface Parser {
  readonly tokens: readonly string[]
  at: number
}

function readOr(parser: Parser): boolean {
  let value = readAnd(parser)
  while (parser.tokens[parser.at] === 'OR') {
    parser.at += 1
    // Parsed before it is combined: a permissive left side must not leave the right side unparsed.
    const right = readAnd(parser)
    value = value || right
  }
  return value
}

function readAnd(parser: Parser): boolean {
  let value = readOne(parser)
  while (parser.tokens[parser.at] === 'AND') {
    parser.at += 1
    const right = readOne(parser)
    value = value && right
  }
  return value
}

function readOne(parser: Parser): boolean {
  const token = parser.tokens[parser.at]
  parser.at += 1
  if (token === '(') {
    const value = readOr(parser)
    if (parser.tokens[parser.at] === ')') parser.at += 1
    return value
  }
  if (parser.tokens[parser.at] === 'WITH') parser.at += 2
  return token !== undefined && isListed(token)
}

function isListed(name: string): boolean {
  return permissiveLicences.some((listed) =>
    listed.endsWith('*') ? name.startsWith(listed.slice(0, -1)) : name === listed,
  )
}
