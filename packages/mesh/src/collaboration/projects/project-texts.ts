import type { Caller } from '../../access/index.ts'
import { ensureProject } from './manage-project.ts'
import type { ManageProjectDeps, WriteProject } from './manage-project.ts'

/** What a project is for, in the form in which a file has it: sections by their names. */
export interface ProjectTexts {
  readonly goal: string
  readonly criteria: readonly string[]
  readonly sections: Readonly<Record<string, string>>
}

/** The texts of projects for whoever writes a fleet into a file and makes one of it. */
export function createProjectTexts(
  deps: Pick<ManageProjectDeps, 'table' | 'clock'> & { readonly write: WriteProject },
) {
  const { table, write } = deps

  function textsOf(name: string): ProjectTexts | null {
    const row = table.find(name)
    if (!row) return null
    const sections = Object.fromEntries(table.sections(name).map((section) => [section.name, section.text]))
    return { goal: row.goal, criteria: row.criteria, sections }
  }

  /**
   * Writes what differs, in the caller's transaction, into a project that is made where it is not there; what is left out
   * stays. Problems as of writing each.
   */
  function give(caller: Caller, name: string, texts: Partial<ProjectTexts>): void {
    ensureProject(deps, name)
    const now = textsOf(name)
    const { goal = now?.goal ?? '', criteria = now?.criteria ?? [] } = texts
    if (goal !== now?.goal || JSON.stringify(criteria) !== JSON.stringify(now.criteria)) {
      write(caller, name, { text: goal, criteria, expectedVersion: table.find(name)?.goal_version ?? 0 })
    }
    for (const [section, text] of Object.entries(texts.sections ?? {})) {
      if (now?.sections[section] === text) continue
      write(caller, name, { section, text, expectedVersion: table.section(name, section)?.version ?? 0 })
    }
  }

  return { textsOf, give }
}
