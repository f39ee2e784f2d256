import { attackWalls } from './attack-walls.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const list = { apt: [], npm: ['@agentclientprotocol/claude-agent-acp@0.101.0'], pip: ['pytest'] }

withEngine(
  'the walls around a harness',
  (engine) => {
    const home = useDockerHome(engine)
    attackWalls(home, async () => {
      const { id } = await home().runtime.packages!.ensure(list, { lock: null, progress: () => {} })
      return id
    })
  },
  found,
)
