import type * as z from 'zod/v4/core'

const articles: Readonly<Record<string, string>> = {
  string: 'a text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list in [ ]',
  object: 'an object in { }',
  record: 'an object in { }',
  null: 'null',
}
const choicesShown = 12

/** Describes an invalid value of a file and the expected value, for the person who edits the file. Pure. */
export function formatIssue(issue: z.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = articles[issue.expected] ?? `a value of the kind ${issue.expected}`
      const found = /received (\w+)$/.exec(issue.message)?.[1]
      if (found === 'undefined') return `is missing; write ${expected}`
      return found === undefined || articles[found] === undefined || articles[found] === expected
        ? `write ${expected}`
        : `write ${expected} instead of ${articles[found]}`
    }
    case 'unrecognized_keys': {
      const names = issue.keys.map((key) => JSON.stringify(key.slice(0, 100))).join(', ')
      return `${names} ${issue.keys.length === 1 ? 'is not a known name' : 'are not known names'} here; correct or remove ${issue.keys.length === 1 ? 'it' : 'them'}`
    }
    case 'too_big':
      return sizeWords(issue.origin, 'most', issue.maximum)
    case 'too_small':
      return sizeWords(issue.origin, 'least', issue.minimum)
    case 'invalid_value':
      return `write ${issue.values.length === 1 ? '' : 'one of '}${issue.values.slice(0, choicesShown).map(String).join(', ')}`
    case 'invalid_key':
      return issue.issues[0] === undefined ? issue.message : formatIssue(issue.issues[0])
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_union':
    case 'not_multiple_of':
      return issue.message
  }
}

function sizeWords(origin: string, end: 'most' | 'least', bound: number | bigint): string {
  if (origin === 'string') return `write at ${end} ${bound} characters`
  if (origin === 'array' || origin === 'set') return `write at ${end} ${bound} entries`
  if (origin === 'object' || origin === 'record') return `write at ${end} ${bound} keys`
  return `write a number of at ${end} ${bound}`
}
