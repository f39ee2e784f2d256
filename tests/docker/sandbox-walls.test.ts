import { expect, it, onTestFinished } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { runCommand } from '../../packages/fleet/src/sandbox/run-command.ts'
import { networkNames } from '../../packages/fleet/src/sandbox/network/private-network.ts'
import { removeScript } from '../../packages/fleet/src/sandbox/network/agent-firewall.ts'
import { startNameServer } from '../support/name-server.ts'
import { patient } from '../support/patience.ts'
import { attackWalls, meshPort } from './attack-walls.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

withEngine(
  'the walls around an agent',
  (engine) => {
    const home = useDockerHome(engine)
    attackWalls(home, async () => null)

    it('checkIsolation finds every wall standing', async () => {
      const walls = await home().runtime.checkIsolation({ meshPort })
      expect(walls.filter((wall) => !wall.holds)).toEqual([])
      expect(walls.map((wall) => wall.id)).toEqual(
        expect.arrayContaining([
          'agent-door-open',
          'host-ports-closed',
          'other-sandboxes-closed',
          'internet-closed',
          'metadata-closed',
        ]),
      )
    })

    it('checkIsolation says so when nothing listens at the agent API', async () => {
      const walls = await home().runtime.checkIsolation({ meshPort: 8421 })
      expect(walls.find((wall) => wall.id === 'agent-door-open')).toMatchObject({ holds: false })
    })

    it('checkIsolation finds the hole when the firewall rules are gone, and prepare closes it', async () => {
      heedsLesson(28)
      const { bridge } = networkNames(home().homeTag)
      const removed = await runCommand('sh', ['-c', removeScript(bridge)], { timeoutMs: patient(20_000) })
      expect(removed.code).toBe(0)
      const holed = await home().runtime.checkIsolation({ meshPort })
      expect(holed.find((wall) => wall.id === 'host-ports-closed')).toMatchObject({ holds: false })
      await home().runtime.prepare({ progress: () => {} })
      const healed = await home().runtime.checkIsolation({ meshPort })
      expect(healed.filter((wall) => !wall.holds)).toEqual([])
    })

    it('checkIsolation finds that the engine asks external name servers, and prepare prevents it', async () => {
      const outside = await startNameServer(() => null, { host: home().runtime.listenHost(), port: 53 })
      onTestFinished(() => outside.close())
      const standing = await home().runtime.checkIsolation({ meshPort })
      expect(standing.find((wall) => wall.id === 'names-closed')).toMatchObject({ holds: true })
      expect(outside.asked).toEqual([])
      const { bridge } = networkNames(home().homeTag)
      const removed = await runCommand('sh', ['-c', removeScript(bridge)], { timeoutMs: patient(20_000) })
      expect(removed.code).toBe(0)
      const holed = await home().runtime.checkIsolation({ meshPort })
      expect(outside.asked).toContain('example.com')
      expect(holed.find((wall) => wall.id === 'names-closed')).toMatchObject({ holds: false })
      await home().runtime.prepare({ progress: () => {} })
      const healed = await home().runtime.checkIsolation({ meshPort })
      expect(healed.filter((wall) => !wall.holds)).toEqual([])
    })
  },
  found,
)
