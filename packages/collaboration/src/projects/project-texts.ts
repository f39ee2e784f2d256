import type { Caller } from '@flotilla/identity/access'
import { ensureProject } from './manage-project.ts'
import type { ManageProjectDeps, WriteProject } from './manage-project.ts'

/** The texts of a project as a template file contains them: sections by name. */
export interface ProjectTexts {
  readonly goal: string
  readonly criteria: readonly string[]
  readonly sections: Readonly<Record<string, string>>
}

/** Reads and writes the texts of projects for exporting and applying templates. */
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
   * Writes the texts that differ, in the caller's transaction. Creates the project if it does not exist; omitted
   * texts stay. Problems as for writing each text.
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
