import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { dataPaths } from '../../packages/foundation/src/config/data-paths.ts'
import { homeIdPath } from '../../packages/foundation/src/config/home-folder.ts'
import { homeLabel } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { meshArguments, runMeshCommand } from '../support/mesh-process.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

/** Creates the home folder that a crashed mesh with this id leaves. */
function aLeftHome(homeId: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-left-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const paths = dataPaths(folder)
  mkdirSync(join(folder, 'data'), { recursive: true })
  writeFileSync(homeIdPath(paths), `${homeId}\n`)
  return folder
}

withEngine(
  'agents that a crashed mesh left in containers',
  (engine) => {
    const home = useDockerHome(engine)
    const running = async () =>
      (await home().runtime.list()).flatMap(({ agentId, running: runs }) => (runs ? [agentId] : []))
    const stop = (folder: string) =>
      runMeshCommand(meshArguments('stop-agents', '--home', folder, '--runtime', 'docker'))

    it('agents that a crashed mesh left in containers are stopped, keep their data, and those of other homes run on', async () => {
      const state = await home().start({ agentId: 'scout' })
      await home().run(state, 'echo yes > /data/kept')
      const others = await stop(aLeftHome('another-home'))
      expect(others.lines.at(-1)).toEqual({ ended: [], left: null })
      expect(await running()).toEqual(['scout'])
      const folder = aLeftHome(home().homeId)
      const stopped = await stop(folder)
      expect(stopped.lines.at(-1), stopped.errors).toEqual({ ended: ['scout'], left: null })
      expect(await running()).toEqual([])
      expect((await stop(folder)).lines.at(-1)).toEqual({ ended: [], left: null })
      const again = await home().start({ agentId: 'scout' })
      expect((await home().run(again, 'cat /data/kept')).text.trim()).toBe('yes')
    })

    it('agents that a crashed mesh left in containers are stopped by the command that is printed where no engine answers', async () => {
      await home().start({ agentId: 'scout' })
      const folder = aLeftHome(home().homeId)
      const environment = { ...process.env, FLOTILLA_ENGINE_SOCKET: join(folder, 'no.sock') }
      const { lines } = await runMeshCommand(
        meshArguments('stop-agents', '--home', folder, '--runtime', 'docker'),
        environment,
      )
      const [left] = lines.flatMap((line) => (typeof line['left'] === 'string' ? [line['left']] : []))
      expect(left).toContain(homeLabel(home().homeId))
      execFileSync('sh', ['-c', left ?? 'false'], {
        env: { ...process.env, DOCKER_HOST: `unix://${engine.socketPath}` },
      })
      expect(await running()).toEqual([])
    })
  },
  found,
)
