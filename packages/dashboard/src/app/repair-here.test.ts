import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { expect, it } from 'vitest'
import { settingsParts } from '../pages/settings/settings-parts.ts'
import { menu } from './menu.ts'
import { repairHere } from './repair-here.ts'

const partTitles: readonly string[] = settingsParts.map(({ title }) => title)
const codes = Object.keys(problemCatalog) as ProblemCode[]
const told = codes.map((code) => ({
  code,
  repair: repairHere({ code, repair: problemCatalog[code].repair }),
}))

it('a repair on a page names a place of these pages where the catalogue names a command', () => {
  const { repair } = problemCatalog['agent-quarantined']
  expect(repair).toContain('flotilla restart')
  expect(repairHere({ code: 'agent-quarantined', repair })).toContain('Restart on its page')
})

it('a repair on a page leaves what is said of this very case and names no command', () => {
  expect(repairHere({ code: 'denied', repair: 'Give it a record.' })).toBe('Give it a record.')
})

it('a repair on a page leaves to the terminal alone what no page can do', () => {
  const left = told.filter(({ repair }) => /\bflotilla [a-z]/.test(repair)).map(({ code }) => code)
  expect(left.toSorted()).toEqual(terminalAlone.toSorted())
})

it('a repair on a page names only parts of the settings that there are', () => {
  const named = told.flatMap(({ repair }) =>
    [...repair.matchAll(/Settings, (Providers and models|\w+)/g)].map(([, part]) => part),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((part) => !partTitles.includes(part ?? ''))).toEqual([])
  expect(menu.map(({ title }) => title)).toEqual(
    expect.arrayContaining(['Runs', 'Approvals', 'Fleet', 'Chat']),
  )
})

/**
 * Problems that cannot be repaired on a page: those of the machine, its files and the owner's proof, and those that
 * only agents meet.
 */
const terminalAlone: readonly ProblemCode[] = [
  'client-gone',
  'disk-full',
  'fleet-paused',
  'harness-failed',
  'home-in-use',
  'host-refused',
  'internal-error',
  'isolation-unavailable',
  'machine-full',
  'mesh-secret-refused',
  'mesh-unreachable',
  'messages-exhausted',
  'no-wallet',
  'not-configured',
  'packages-delayed',
  'packages-unavailable',
  'policy-denied',
  'proof-wanted',
  'seed-revealed',
  'size-unavailable',
  'stale-fence',
  'storage-failing',
  'too-many-files',
  'wrong-home',
]
