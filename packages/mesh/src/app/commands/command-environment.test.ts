import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { meshArguments, runMeshCommand } from '../../../../../tests/support/mesh-process.ts'
import { dataPaths } from '../../../../foundation/src/config/data-paths.ts'
import { openHomeFolder } from '../../../../foundation/src/config/home-folder.ts'
import { commandEnvironment } from './command-environment.ts'

async function aHomeWith(envText: string) {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-env-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  await openHomeFolder(dataPaths(home))
  await writeFile(join(home, '.env'), envText, { mode: 0o600 })
  const command = (name: string) =>
    runMeshCommand(meshArguments(name, '--home', home, '--runtime', 'process'))
  return { home, command, places: { env: { FLOTILLA_HOME: home }, userHome: home } }
}

const wrongText = 'FLOTILLA_PORT=many\nFLOTILLA_ENGINE_SOCKET=/run/other.sock\n'
const brokenText = 'FLOTILLA_ENGINE_SOCKET=/run/other.sock\nthis is no line of it\n'

test('an invalid value in .env prevents a start, and commands that inspect or delete a home ignore it', async () => {
  const { places } = await aHomeWith(wrongText)
  await expect(commandEnvironment('sound', places)).rejects.toThrow(/FLOTILLA_PORT in \.env/)
  for (const need of ['readable', 'whatever-holds'] as const) {
    expect(await commandEnvironment(need, places)).toMatchObject({
      port: 8420,
      engineSocket: '/run/other.sock',
      leftOut: [expect.stringMatching(/^FLOTILLA_PORT in \.env: /)],
    })
  }
  const env = { ...places.env, FLOTILLA_PORT: 'many' }
  await expect(commandEnvironment('whatever-holds', { ...places, env })).rejects.toThrow(/FLOTILLA_PORT: /)
})

test('commands that need to know the engine refuse a broken .env and name its line', async () => {
  const { places } = await aHomeWith(brokenText)
  for (const need of ['sound', 'readable'] as const) {
    await expect(commandEnvironment(need, places)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('.env line 2') as string,
    })
  }
  expect(await commandEnvironment('whatever-holds', places)).toMatchObject({ engineSocket: null })
})

test('a .env that is not a file is refused', async () => {
  const { home, places } = await aHomeWith('')
  await rm(join(home, '.env'))
  await mkdir(join(home, '.env'))
  await expect(commandEnvironment('readable', places)).rejects.toMatchObject({
    detail: expect.stringContaining('.env cannot be read') as string,
  })
})

test('a home with a broken .env is not deleted, and doctor and journal still work', async () => {
  const { home, command } = await aHomeWith(brokenText)
  const reset = await command('reset')
  expect(reset.code).toBe(1)
  expect(reset.lines.at(-1)).toMatchObject({
    problem: { detail: expect.stringContaining('.env line 2') as string },
  })
  expect(existsSync(join(home, 'data'))).toBe(true)
  expect((await command('doctor')).lines.at(-1)).toMatchObject({
    findings: expect.arrayContaining([
      expect.objectContaining({ id: 'env-file', level: 'error' }),
    ]) as unknown,
  })
  expect((await command('verify-journal')).lines.at(-1)).toMatchObject({
    detail: expect.stringContaining('does not exist') as string,
  })
})

test('with an invalid value in .env, doctor names it, the journal is verified, and the home can be deleted', async () => {
  const { home, command } = await aHomeWith('FLOTILLA_PUBLIC_BIND=many\nFLOTILLA_URL=http://elsewhere\n')
  const { lines } = await command('doctor')
  expect(lines.at(-1)).toMatchObject({
    findings: expect.arrayContaining([
      expect.objectContaining({
        id: 'setting-value',
        level: 'error',
        detail: expect.stringContaining('FLOTILLA_PUBLIC_BIND in .env') as string,
      }),
      expect.objectContaining({ id: 'setting-name', level: 'warning' }),
    ]) as unknown,
  })
  expect((await command('verify-journal')).lines.at(-1)).toMatchObject({
    detail: expect.stringContaining('does not exist') as string,
  })
  expect((await command('begin-journal')).lines.at(-1)).toMatchObject({
    problem: { detail: expect.stringContaining('has no audit log') as string },
  })
  expect((await command('reset')).code).toBe(0)
  expect(existsSync(home)).toBe(false)
})
