import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeCaches } from './remove-caches.ts'

test('caches are removed but for what a running program names, and all of them once it has ended', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'flotilla-caches-')), 'flotilla')
  for (const part of ['engine', 'engines', 'images/blobs']) {
    mkdirSync(join(folder, part), { recursive: true })
    writeFileSync(join(folder, part, 'file.json'), '{}')
  }
  const settings = join(folder, 'engine', 'file.json')
  const engine = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)', settings])
  try {
    await once(engine.stdout, 'data')
    expect(await removeCaches(folder)).toEqual([
      { path: join(folder, 'engine'), pid: engine.pid, program: expect.stringMatching(/^node/) },
    ])
    expect([readdirSync(folder), existsSync(settings)]).toEqual([['engine'], true])
  } finally {
    engine.kill()
    await once(engine, 'exit')
  }
  expect(await removeCaches(folder)).toEqual([])
  expect(existsSync(folder)).toBe(false)
  expect(await removeCaches(folder)).toEqual([])
})
