import { hintOfName } from '@flotilla/protocol/nearest-name'
import type { PermissionChange } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { permissionFields, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { CommandFailed } from '../command-failed.ts'
import { exitCodes } from '../exit-codes.ts'

const form = /^([A-Za-z_]+)(\+=|-=|=)(.*)$/su

/** The value of each field when nothing is granted; it also gives the type of the field. */
const empty = permissionRecordSchema.parse({})

/**
 * Parses words like `field=value`, `field+=entry,entry` and `field-=entry` into one change. Lists are separated by
 * commas, or written as JSON. The error says what is wrong and names all fields.
 */
export function parseAssignments(words: readonly string[]): PermissionChange {
  const change: PermissionChange = { set: {}, add: {}, remove: {} }
  for (const word of words) {
    const [, field = '', operator = '', text = ''] = form.exec(word) ?? []
    if (field === '') throw refused(`${word} is not of the form field=value, field+=entry or field-=entry.`)
    if (!Object.hasOwn(permissionFields, field)) throw unknownField(field)
    if (operator === '=') change.set[field] = valueOf(field, text)
    else if (!isList(field)) throw refused(`${field} is not a list: set it with ${field}=value.`)
    else {
      const lists = operator === '+=' ? change.add : change.remove
      lists[field] = [...(lists[field] ?? []), ...entriesOf(text)]
    }
  }
  return change
}

function valueOf(field: string, text: string): JsonValue {
  if (isList(field)) {
    if (field === 'browser_actions' && text === 'null') return null
    return text.trim().startsWith('[') ? jsonOf(field, text) : entriesOf(text)
  }
  if (typeof Reflect.get(empty, field) === 'string') return text
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  if (typeof Reflect.get(empty, field) === 'number' && text.trim() !== '' && Number.isFinite(number))
    return number
  throw refused(
    `${field} takes ${typeof Reflect.get(empty, field) === 'number' ? 'a number' : 'true or false'}.`,
  )
}

function unknownField(field: string): CommandFailed {
  const hint = hintOfName(field, Object.keys(permissionFields), 'the fields are')
  return refused(`There is no permission ${field}; ${hint}`)
}

function isList(field: string): boolean {
  return field === 'browser_actions' || Array.isArray(Reflect.get(empty, field))
}

function entriesOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

function jsonOf(field: string, text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue // JSON.parse returns JSON
  } catch {
    throw refused(`The value of ${field} begins like JSON but is not valid JSON.`)
  }
}

function refused(detail: string): CommandFailed {
  return new CommandFailed('bad-permission', {
    detail,
    repair: `The fields are ${Object.keys(permissionFields).join(', ')}.`,
    exitCode: exitCodes.usage,
  })
}
