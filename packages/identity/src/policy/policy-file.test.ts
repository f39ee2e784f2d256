import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFileEditor } from '../../../foundation/src/config/index.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { createPolicyFile } from './policy-file.ts'

const denyAll = "rules:\n  - { name: stop, match: { agent: '*' }, verdict: deny }\n"
const effect = { agent: 'scout', tool: 'browser' } as const

async function opened(text: string | null) {
  const path = join(await mkdtemp(join(tmpdir(), 'policy-')), 'policy.yaml')
  if (text !== null) await writeFile(path, text)
  const store = await createPolicyFile({
    path,
    editor: createFileEditor(),
    clock: createManualClock(),
    log: silentLog,
  })
  return { path, store }
}

describe('the policy file', () => {
  test('a missing file has no rules', async () => {
    const { store } = await opened(null)
    expect(store.snapshot()).toMatchObject({ broken: null, rules: [], cases: [] })
    expect(store.snapshot().decide(effect).verdict).toBe('allow')
    await store.close()
  })

  test('an invalid file denies every effect and names the line, until it is valid', async () => {
    const { path, store } = await opened('rules:\n  - { name: stop }\n')
    const detail =
      'config/policy.yaml line 2: rules.0.match: is missing; write an object in { }; rules.0.verdict: write one of allow, ask, deny'
    expect(store.snapshot().broken).toBe(detail)
    expect(store.snapshot().decide(effect)).toMatchObject({ verdict: 'deny', rule: null, line: 2 })
    await writeFile(path, denyAll)
    await store.refresh()
    expect(store.snapshot().decide(effect)).toMatchObject({ verdict: 'deny', rule: 'stop', line: 2 })
    await writeFile(path, '')
    await store.refresh()
    expect(store.snapshot().decide(effect).verdict).toBe('allow')
    await store.close()
  })

  test('a file that cannot be read denies every effect', async () => {
    const { path, store } = await opened('')
    await rm(path)
    await mkdir(path)
    await store.refresh()
    expect(store.snapshot().broken).toBe('config/policy.yaml cannot be read')
    expect(store.snapshot().decide(effect)).toMatchObject({ verdict: 'deny', rule: null, line: null })
    await store.close()
  })

  test('a snapshot does not change when the file does', async () => {
    const { path, store } = await opened(denyAll)
    const before = store.snapshot()
    await writeFile(path, '')
    await store.refresh()
    expect([before.decide(effect).verdict, store.snapshot().decide(effect).verdict]).toEqual([
      'deny',
      'allow',
    ])
    await store.close()
  })
})
