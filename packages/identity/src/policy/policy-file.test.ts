import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFileEditor } from '../../../foundation/src/config/index.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { ownLoop } from '../../../testing/src/own-loop.ts'
import { createPolicyFile } from './policy-file.ts'
import type { PolicySnapshot } from './policy-file.ts'

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
    inSteps: (work) => ownLoop().inSteps(null, work, 'finish'),
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

  describe('that is long', () => {
    const rules = Array.from(
      { length: 900 },
      (_none, at) =>
        `  - { name: r${at}, match: { host: 'h${at}.test', path: '/v1/**' }, verdict: deny, reason: '${'x'.repeat(150)}' }\n`,
    )
    const long = `rules:\n${rules.join('')}`

    test('is parsed in another thread, and applies as a short one does', async () => {
      const { path, store } = await opened(long)
      expect(
        store.snapshot().decide({ agent: 'scout', tool: 'http_request', host: 'h7.test', path: '/v1/x' }),
      ).toMatchObject({
        verdict: 'deny',
        rule: 'r7',
        line: 9,
      })
      await writeFile(path, `${long}  - { name: r0 }\n`)
      await store.refresh()
      expect(store.snapshot().broken).toMatch(/^config\/policy\.yaml line 902: /)
      await store.close()
    })

    test('takes the event loop for no more than a part of its reading', async () => {
      const { path, store } = await opened('')
      await writeFile(path, long)
      const read = { isDone: false }
      const reading = store.refresh().then(() => (read.isDone = true))
      let turns = 0
      for (; !read.isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve))
      await reading
      // One turn each for the stamp, the text and the thread would be a handful.
      expect(turns).toBeGreaterThan(20)
      await store.close()
    })

    test('gets a rule that the owner adds, and keeps its comments', async () => {
      const { path, store } = await opened(`# Mine.\n${long}`)
      const seen: PolicySnapshot[] = []
      const rule = { name: 'more', match: { agent: 'scout' }, verdict: 'ask' }
      const change = { rule, before: () => {}, check: (next: PolicySnapshot) => void seen.push(next) }
      await store.edit(change)
      expect(seen[0]?.rules).toHaveLength(901)
      expect(store.snapshot().rules.at(-1)).toMatchObject({ name: 'more', line: 903 })
      expect(await readFile(path, 'utf8')).toMatch(/^# Mine\./)
      await store.close()
    })
  })
})
