import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { expect, test } from 'vitest'
import { settingsParts } from '../pages/settings/settings-parts.ts'
import { menu } from './menu.ts'
import { repairHere } from './repair-here.ts'
import { repairPlaceOf, repairPlaces } from './repair-place.ts'

const codes = Object.keys(problemCatalog) as ProblemCode[]

test('each problem has words of repair, and a page that repairs it or a reason why none does', () => {
  for (const code of codes) {
    const words = repairHere({ code, repair: problemCatalog[code].repair })
    expect(words, code).toMatch(/^[A-Z].+\.$/s)
    const listed = [code in repairPlaces, code in withoutPage].filter(Boolean)
    expect(listed, `${code} has a page or a reason, and not both`).toHaveLength(1)
  }
})

test('a button of a repair leads to a page that exists', () => {
  const pages = [
    ...menu.map(({ path }) => path),
    ...settingsParts.map(({ id }) => `/settings/${id}`),
    '/agents/scout',
    '/agents/scout?tab=permissions',
    '/runs/run-1',
  ]
  for (const code of Object.keys(repairPlaces)) {
    const place = repairPlaceOf(code, { agent: 'scout', run: 'run-1' })
    expect(pages, code).toContain(place?.path)
  }
})

test('a page of an agent or a run is offered only where the agent or the run is known', () => {
  expect(repairPlaceOf('denied')).toBeNull()
  expect(repairPlaceOf('rounds-exhausted', { agent: 'scout' })).toBeNull()
  expect(repairPlaceOf('budget-exhausted')?.path).toBe('/settings/limits')
  expect(repairPlaceOf('a-code-of-a-newer-mesh')).toBeNull()
})

const input = 'another input repairs it, which the words describe'
const terminal = 'repaired on the machine of the mesh'
const again = 'waiting or trying again repairs it'

/** Why no page repairs a problem. */
const withoutPage: Partial<Record<ProblemCode, string>> = {
  'bad-json': input,
  'bad-request': input,
  'path-refused': input,
  'body-late': again,
  'body-too-large': input,
  'human-only': input,
  'spawn-refused': 'the limits of spawning are in config/settings.json',
  'upstream-failed': again,
  'policy-denied': 'the owner edits config/policy.yaml',
  'not-found': input,
  conflict: input,
  'version-conflict': input,
  'edit-overtaken': input,
  'undo-overtaken': input,
  'undo-used': input,
  'undo-expired': input,
  'hand-off-refused': input,
  'unsupported-encoding': input,
  'skill-rejected': input,
  unprocessable: input,
  'history-refused': input,
  'surface-not-offered': input,
  'no-price': input,
  'would-fail': input,
  'not-simulated': input,
  'messages-exhausted': input,
  'seed-revealed': input,
  'rate-limited': again,
  'client-gone': again,
  cancelled: again,
  'stale-fence': again,
  'address-refused': terminal,
  'port-refused': terminal,
  'name-unresolved': terminal,
  'destination-refused': terminal,
  'proxy-unauthenticated': terminal,
  unauthenticated: terminal,
  'host-refused': terminal,
  'proof-wanted': terminal,
  'home-in-use': terminal,
  'home-unusable': terminal,
  'wrong-home': terminal,
  'mesh-unreachable': terminal,
  'mesh-secret-refused': terminal,
  'isolation-unavailable': terminal,
  'packages-unavailable': terminal,
  'size-unavailable': terminal,
  'internal-error': terminal,
  'disk-full': terminal,
  'storage-failing': terminal,
  'too-many-files': terminal,
}
