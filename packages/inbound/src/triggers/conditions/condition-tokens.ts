import { Problem } from '@flotilla/protocol/problem'

/** One token of a condition, with its position for error messages. */
export type ConditionToken =
  | { readonly kind: 'name'; readonly text: string; readonly at: number }
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'number'; readonly value: number; readonly at: number }
  | { readonly kind: 'sign'; readonly text: string; readonly at: number }

/** The patterns of all tokens; any other text is an error. */
const patterns = {
  space: /\s+/y,
  name: /[A-Za-z_][A-Za-z0-9_-]*/y,
  number: /-?\d+(?:\.\d+)?/y,
  text: /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y,
  sign: /==|!=|<=|>=|[<>().[\]]/y,
} as const

/** Returns the tokens of a text. Throws Problem `bad-request` with the position of an invalid character. Pure. */
export function conditionTokens(text: string): readonly ConditionToken[] {
  const tokens: ConditionToken[] = []
  let at = 0
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0] ?? null
  }
  while (at < text.length) {
    const space = take(patterns.space)
    const name = take(patterns.name)
    const number = take(patterns.number)
    const quoted = take(patterns.text)
    const sign = take(patterns.sign)
    if (name !== null) tokens.push({ kind: 'name', text: name, at })
    else if (number !== null) tokens.push({ kind: 'number', value: Number(number), at })
    else if (quoted !== null) tokens.push({ kind: 'text', text: unquoted(quoted), at })
    else if (sign !== null) tokens.push({ kind: 'sign', text: sign, at })
    else if (space === null)
      throw conditionFault(at, `${JSON.stringify(text[at])} is not allowed in a condition`)
    at += (space ?? name ?? number ?? quoted ?? sign ?? ' ').length
  }
  return tokens
}

const example = 'Such as: action == "opened" and not (labels contains "wip" or title matches "^draft")'

/** Returns a problem with the position, counted from 1, and an example. */
export function conditionFault(at: number, what: string): Problem {
  return new Problem('bad-request', { detail: `condition, character ${at + 1}: ${what}. ${example}` })
}

/** Returns the quoted text. A backslash escapes quotes and itself; other escapes stay for regular expressions. */
function unquoted(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(/\\(["'\\])/g, '$1')
}
