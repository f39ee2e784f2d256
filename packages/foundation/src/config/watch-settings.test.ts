import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../platform/system-clock.ts'
import { createFileEditor } from './atomic-file.ts'
import { watchSettings } from './watch-settings.ts'

test('an unreadable settings file is reported once, and the last valid settings stay in effect', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-settings-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'config')
  await mkdir(join(folder, 'whole'))
  await symlink('whole', config)
  await writeFile(join(config, 'settings.json'), '{"default_model": "openai/one"}')
  const told: string[] = []
  const clock = { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(5, signal) }
  const settings = await watchSettings({
    path: join(config, 'settings.json'),
    clock,
    onBroken: (detail) => told.push(detail),
    editor: createFileEditor(),
    onStripped: () => {},
  })

  // The folder is replaced by a file atomically: reading inside it then fails with another error than absence.
  await writeFile(join(folder, 'file'), '')
  await symlink('file', join(folder, 'next'))
  await rename(join(folder, 'next'), config)
  await expect.poll(() => settings.broken()).not.toBe(null)
  await systemClock.sleep(50)
  expect(told).toHaveLength(1)
  expect(settings.current().default_model).toBe('openai/one')

  await rm(config)
  await mkdir(config)
  await writeFile(join(config, 'settings.json'), '{"default_model": "openai/two"}')
  await expect.poll(() => settings.current().default_model).toBe('openai/two')
  expect(settings.broken()).toBe(null)
  await settings.close()
})
