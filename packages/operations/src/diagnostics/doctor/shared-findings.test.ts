import { expect, test } from 'vitest'
import { sharedFindings } from './shared-findings.ts'
import type { SharedFacts } from './shared-findings.ts'

const facts: SharedFacts = {
  watchers: 128,
  watches: 8192,
  pipePages: 16_384,
  hostUser: null,
  names: { kind: 'shut' },
}
const told = (more: Partial<SharedFacts>) =>
  sharedFindings({ ...facts, ...more }).map(({ id, level, detail }) => `${level} ${id}: ${detail}`)

test('shared resources are reported with their numbers, and a low limit is a warning', () => {
  const [watchers, pipes, names] = told({})
  expect(watchers).toMatch(/^warning shared-watchers: .*128 inotify instances and watch 8192 files/)
  expect(pipes).toMatch(/^ok shared-pipes: .*16384 pages/)
  expect(names).toMatch(/^ok names-inside: .*blocked/)
  expect(told({ watchers: 8192 })[0]).toMatch(/^ok shared-watchers/)
})

test("a user of this machine with the agents' user id is named", () => {
  for (const line of told({ hostUser: 'maria' }).slice(0, 2)) expect(line).toContain('maria')
})

test('a name server that cannot be blocked is a warning that says why and what it reveals', () => {
  const [, , names] = told({ names: { kind: 'open', why: 'the mesh does not run as root' } })
  expect(names).toMatch(/^warning names-inside: .*does not run as root.*nothing of who they are/)
})
