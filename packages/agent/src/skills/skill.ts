import type { JsonObject } from '@flotilla/protocol/json-value'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'

/** A skill whose source the mesh has checked. */
export interface Skill {
  readonly name: string
  readonly description: PromptText
  readonly parameters: ToolDefinition['parameters']
  readonly code: string
  /** Name of its file in the skills folder. */
  readonly file: string
  /** Parses input for the skill. Throws the Problem `bad-request` that says what was expected. */
  readonly readInput: (input: JsonObject) => JsonObject
}

/** A folder with instructions, read when they are needed. */
export interface Guide {
  readonly name: string
  readonly description: PromptText
}

/** An entry of the skills folder that cannot be used. */
export interface Broken {
  readonly file: string
  readonly reason: PromptText
}

/** Where skills are, below the data directory. */
export const skillsFolder = 'skills'

export const shelfBounds = {
  skillsMax: 50,
  guidesMax: 50,
  /** Number of entries of the folder that are read, in alphabetical order; further ones are ignored. */
  entriesMax: 500,
  /** Limit for reading one skill's source; the mesh's check has its own limit and reports longer sources. */
  sourceMaxBytes: 100_000,
  guideMaxBytes: 64 * 1024,
  frontMatterMaxChars: 4000,
  guideDescriptionMaxChars: 1024,
  /** Characters about one broken file that the model sees. */
  reasonMaxChars: 600,
  /** Number of verdicts of the mesh that are remembered, by content. */
  verdictsMax: 200,
} as const
