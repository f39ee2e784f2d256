import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { expect, it } from 'vitest'
import { namesOf } from './support/names-of-repair.ts'

/** Phrases that fit every problem and help with none. */
const emptyPhrases = [
  /see the detail/i,
  /decide again/i,
  /nothing to do/i,
  /^(?:check the id|try again(?: later)?|send less|ask again)[.;]?$/i,
]

it.each(Object.entries(problemCatalog))(
  'the repair of %s names something that is there, and nothing that is not',
  (_code, { repair }) => {
    const { known, unknown } = namesOf(repair)
    expect(unknown, repair).toEqual([])
    expect(known, repair).not.toEqual([])
    expect(repair).toMatch(/^[A-Z].*\.$/s)
    for (const phrase of emptyPhrases) expect(repair).not.toMatch(phrase)
  },
)

it('a repair that names nothing, or what is not there, is found', () => {
  expect(namesOf('See the detail.')).toEqual({ known: [], unknown: [] })
  for (const wrong of [
    'flotilla mend',
    'flotilla status --all',
    'flotilla webhooks mend',
    'FLOTILLA_MEND',
    'config/mend.json',
    'egress.mend',
    'x-mend-it',
    'data_mend_mb',
    'GET /v1/mends',
    'the field mend',
  ]) {
    expect(namesOf(`Try ${wrong}.`).unknown, wrong).not.toEqual([])
  }
})
