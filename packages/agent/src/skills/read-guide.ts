import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { shelfBounds } from './skill.ts'
import type { Guide } from './skill.ts'

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/
const frame = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/** Parses a SKILL.md: its description and its instructions. Throws an Error that says what is wrong. */
export async function readGuide(
  folder: string,
  content: string,
): Promise<{ readonly guide: Guide; readonly body: string }> {
  const found = frame.exec(content.replace(/^\uFEFF/, ''))
  const head = found?.[1]
  if (!found || head === undefined) {
    throw new Error(
      'SKILL.md must begin with front matter: a line of ---, name and description, and a line of ---',
    )
  }
  const { frontMatterMaxChars, guideDescriptionMaxChars } = shelfBounds
  if (head.length > frontMatterMaxChars) {
    throw new Error(`the front matter has more than ${frontMatterMaxChars} characters`)
  }
  const { parse } = await import('../parts/yaml.ts')
  const header: unknown = parse(head, { maxAliasCount: 0, logLevel: 'silent' })
  const { name, description } = isJsonObject(header) ? header : {}
  if (name !== folder || !namePattern.test(folder)) {
    throw new Error(
      'the field name must be the name of the folder: up to 64 lower-case letters, digits and hyphens',
    )
  }
  const clean = sanitizeForPrompt(description).trim()
  if (clean === '' || clean.length > guideDescriptionMaxChars) {
    throw new Error(`the field description must be a text of 1 to ${guideDescriptionMaxChars} characters`)
  }
  return {
    guide: { name: folder, description: sanitizeForPrompt(clean) },
    body: content.replace(/^\uFEFF/, '').slice(found[0].length),
  }
}
