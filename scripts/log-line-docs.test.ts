import { expect, test } from 'vitest'
import { namesOf } from '../tests/support/names-of-repair.ts'
import notes from './log-line-notes.json' with { type: 'json' }

/**
 * Names that log lines use and that no repair of a problem names: files of an agent, and variables of OpenTelemetry.
 */
const otherNames = new Set(['mcp.json', 'OTEL_EXPORTER_OTLP_ENDPOINT'])

test.each(Object.entries(notes))('cause and remedy of "%s" are sentences', (_line, note) => {
  expect(note).toHaveLength(2)
  for (const text of note) expect(text).toMatch(/^[A-Z`c].*\.$/)
})

test.each(Object.entries(notes))('the remedy of "%s" names only what exists', (_line, [, remedy = '']) => {
  const { unknown } = namesOf(remedy.replaceAll(/`|\]\([^)]*\)/g, ''))
  expect(unknown.filter((name) => !otherNames.has(name))).toEqual([])
})

test.each(Object.entries(notes))(
  'the remedy of "%s" is an action, or says that none is needed',
  (_line, [, remedy = '']) => {
    expect(remedy).not.toMatch(/^(?:None|See|`)/)
  },
)
