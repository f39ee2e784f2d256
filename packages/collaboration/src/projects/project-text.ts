import { oneLine } from '@flotilla/protocol/one-line'
import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ProjectRow, SectionRow } from './project-table.ts'

/** Longest criterion and longest role of a member in PROJECT.md, in characters. */
const lineMaxChars = 200

/**
 * Renders PROJECT.md, which each member reads. The same rows give the same bytes, so that the provider's prompt cache
 * stays valid. Only the whole prompt has a limit. Pure.
 */
export function projectText(project: {
  readonly row: ProjectRow
  readonly sections: readonly SectionRow[]
  readonly members: readonly { readonly id: string; readonly role: string }[]
}): PromptText {
  const { row, sections, members } = project
  const parts = [
    `# Project ${row.name}`,
    ...(row.archived_at === null ? [] : ['This project is archived: its data can be read but not changed.']),
    ...(row.goal === '' ? [] : [`## Goal\n\n${row.goal}`]),
    ...(row.criteria.length === 0
      ? []
      : [`It is reached when:\n${row.criteria.map((one) => `- ${oneLine(one, lineMaxChars)}`).join('\n')}`]),
    ...sections.map(({ name, text }) => `## ${name}\n\n${text}`),
    `## Members\n\n${members.map(({ id, role }) => `- \`${id}\`: ${oneLine(role, lineMaxChars)}`).join('\n')}`,
    `## What members share\n\nOnly members of this project can use blackboard keys and topics that begin with \`projects/${row.name}/\`, and every member can. All members, and only they, can read files saved with \`shared\`.`,
  ]
  return joinPromptText(parts.map(sanitizeForPrompt), '\n\n')
}
