import { expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { anAuthority } from '../../../testing/src/inspection-harness.ts'
import { defaultSettings } from '../../../foundation/src/config/settings-file.ts'
import type { Settings } from '../../../foundation/src/config/settings-file.ts'
import { createHandshakeFailures } from './handshake-failures.ts'
import { createManageInspection } from './manage-inspection.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }

async function aDesk(inspected: readonly string[]) {
  let egress: Settings['egress'] = { ...defaultSettings.egress, inspected_hosts: [...inspected] }
  const settings = (): Settings => ({ ...defaultSettings, egress })
  const journal = collectJournal()
  const failures = createHandshakeFailures({ clock: { now: () => 5, sleep: async () => {} } })
  const manage = createManageInspection({
    guard: () => {},
    journal,
    settings,
    settingsFile: {
      editAll: async (edits) => {
        for (const { field, value } of edits(settings())) egress = { ...egress, [String(field[1])]: value }
      },
    },
    authority: await anAuthority('a fleet'),
    failures,
  })
  return { manage, failures, journal }
}

test('a host that programs pin stays inspected until the owner makes it a tunnel', async () => {
  const { manage, failures, journal } = await aDesk(['pinned.test', '*.below.test'])
  for (const host of ['pinned.test', 'a.below.test', 'not-inspected.test'])
    for (let at = 0; at < 3; at++) failures.note('scout', host, 'untrusted')
  const named = (view: { readonly pinned: readonly { readonly host: string }[] }) =>
    view.pinned.map(({ host }) => host).toSorted()
  expect(named(manage.view(owner))).toEqual(['a.below.test', 'pinned.test'])
  expect(manage.view(owner).hosts).toContain('pinned.test')
  const view = await manage.tunnel(owner, 'Pinned.test')
  expect(view).toMatchObject({ hosts: ['*.below.test'], tunnels: ['pinned.test'] })
  expect(named(await manage.tunnel(owner, 'a.below.test'))).toEqual([])
  expect(manage.pinned()).toEqual({ inspected: 1, tunnels: ['pinned.test', 'a.below.test'], pinned: [] })
  expect(journal.entries.map(({ action }) => action)).toEqual([
    'egress.host-tunneled',
    'egress.host-tunneled',
  ])
})

test('a host that is inspected below a tunnel *.domain is reported as one that programs pin', async () => {
  const { manage, failures } = await aDesk([])
  await manage.tunnel(owner, '*.example.test')
  for (let at = 0; at < 3; at++) failures.note('scout', 'api.example.test', 'untrusted')
  expect(manage.pinned().pinned).toEqual([])
  expect(await manage.inspect(owner, 'api.example.test')).toMatchObject({
    hosts: ['api.example.test'],
    tunnels: ['*.example.test'],
    pinned: [{ host: 'api.example.test' }],
  })
})

test('a host is on one list at a time, and on none after it was removed', async () => {
  const { manage } = await aDesk([])
  await manage.tunnel(owner, 'a.test')
  expect(await manage.inspect(owner, 'a.test')).toMatchObject({ hosts: ['a.test'], tunnels: [] })
  await manage.tunnel(owner, 'a.test')
  expect(await manage.release(owner, 'a.test')).toMatchObject({ hosts: [], tunnels: [] })
  await expect(manage.release(owner, 'a.test')).rejects.toMatchObject({ code: 'not-found' })
  await expect(manage.tunnel(owner, '*')).rejects.toMatchObject({ code: 'bad-request' })
})
