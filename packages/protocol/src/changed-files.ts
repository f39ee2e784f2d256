import * as z from 'zod/mini'

/** Bounds of the list of files that a run changed. */
export const changedFilesLimits = {
  /** The maximum number of files that one list names. */
  listedMax: 50,
  /** The maximum length of a path in the list, in characters. */
  pathMaxChars: 200,
} as const

const atLeastNone = z.int().check(z.minimum(0))

const changedFileSchema = z.strictObject({
  /** The path below /data; longer ones are cut. */
  path: z.string().check(z.minLength(1), z.maxLength(changedFilesLimits.pathMaxChars)),
  change: z.enum(['made', 'changed', 'removed']),
  /** The size afterwards; of a removed file, the size before. */
  size_bytes: atLeastNone,
})
export type ChangedFile = z.infer<typeof changedFileSchema>

/** The fields of a frame or event that says what a run did to the files below /data, without their content. */
export const changedFilesFields = {
  files: z.array(changedFileSchema).check(z.maxLength(changedFilesLimits.listedMax)),
  /** The number of changed files that `files` does not name. */
  unlisted: atLeastNone,
  /** True if /data holds more files than the agent compares, so that changes may be missing. */
  is_partial: z.boolean(),
} as const

export interface ChangedFiles {
  readonly files: ChangedFile[]
  readonly unlisted: number
  readonly is_partial: boolean
}
