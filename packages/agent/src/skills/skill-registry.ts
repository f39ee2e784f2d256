import type { Clock } from '@flotilla/protocol/clock'
import type { DataFiles } from '../files/data-files.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { Tool } from '../tools/tool.ts'
import { createCheckSource } from './check-source.ts'
import { loadShelf } from './load-shelf.ts'
import type { Shelf } from './load-shelf.ts'
import { skillTool } from './skill-tool.ts'
import { skillToolNames, skillTools } from './skill-tools.ts'

export interface SkillRegistry {
  /**
   * Returns a list of `tools` and the agent's skills. The list is live: a skill that the agent writes during a run is
   * added to the list at once.
   */
  offer(
    tools: readonly Tool[],
    context: {
      readonly mesh: RunMesh
      readonly signal: AbortSignal
      /** Called whenever the list has changed. Tools that other parts added after the skills stay. */
      readonly shown?: () => void
    },
  ): Promise<Tool[]>
  /** The skills and skill tools that runs get, as far as the skills folder has been read. */
  listed(): readonly Pick<Tool, 'definition' | 'source'>[]
}

/** The folder is read with the first run and when the agent requests it. */
export function createSkillRegistry(deps: {
  readonly files: DataFiles
  /**
   * Names of all of the agent's own tools, also those not offered: the trust of their results depends on the name.
   */
  readonly ownNames: readonly string[]
  readonly newNonce: () => string
  readonly clock: Clock
}): SkillRegistry {
  const { files } = deps
  const check = createCheckSource()
  let shelf: Shelf = { skills: [], guides: [], broken: [], whole: false }
  let listed: readonly Pick<Tool, 'definition' | 'source'>[] = skillTools({
    files,
    check,
    taken: new Set(),
    shelf: () => shelf,
    reload: async () => shelf,
  })
  return {
    listed: () => listed,
    offer: async (tools, turn) => {
      const offeredNames = tools.map(({ definition }) => definition.name)
      const taken = new Set([...deps.ownNames, ...offeredNames, ...skillToolNames])
      const offered = [...tools]
      let shownCount = 0
      const show = (): void => {
        const own = skillTools({ files, check, taken, shelf: () => shelf, reload })
        const skills = shelf.skills.filter(({ name }) => !taken.has(name))
        const shown = [...own, ...skills.map((skill) => skillTool(skill, { ...deps, tools }))]
        offered.splice(tools.length, shownCount, ...shown)
        shownCount = shown.length
        listed = shown
        turn.shown?.()
      }
      const reload = async (context: { mesh: RunMesh; signal: AbortSignal }): Promise<Shelf> => {
        shelf = await loadShelf({ files, check }, { ...context, taken })
        show()
        return shelf
      }
      if (shelf.whole) show()
      else await reload(turn)
      return offered
    },
  }
}
