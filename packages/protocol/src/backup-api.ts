import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { backupLimits } from './backup-limits.ts'

/** The people's API for backups of the home, which an owner creates and lists on a page. */
export const backupEndpoints = {
  backups: {
    method: 'GET',
    path: '/api/backups',
    summary: 'List the backups of the home and the backup operation in progress.',
  },
  backupMake: {
    method: 'POST',
    path: '/api/backups',
    summary: 'Start a backup of the home. The answer comes before it is complete.',
  },
  backupVerify: {
    method: 'POST',
    path: '/api/backups/{name}/verify',
    summary: 'Start a check that a backup can be restored. The answer comes before the check ends.',
  },
} as const satisfies Record<string, Endpoint>

/** The mesh generates the name from the current time, so that no name can lead to another folder. */
export const backupNameSchema = z
  .string()
  .check(z.regex(/^backup-\d{8}T\d{6}Z$/, 'a backup is named like backup-20260131T235959Z'))

/** Must be one line, because the command line reads only the first line of a passphrase file. */
const passphrase = z
  .string()
  .check(
    z.minLength(
      backupLimits.passphraseMinChars,
      `a passphrase has ${backupLimits.passphraseMinChars} characters or more`,
    ),
    z.maxLength(backupLimits.passphraseMaxChars),
    z.regex(/^[^\p{Cc}]*$/u, 'a passphrase is one line'),
  )

const messageText = z.string().check(z.maxLength(backupLimits.wordsMaxChars))

export const backupFileSchema = z.strictObject({
  name: backupNameSchema,
  bytes: z.int(),
  /** Milliseconds since 1970. */
  made_at: z.number(),
  /** Whether the file is encrypted with a passphrase; null if it does not begin like a backup. */
  encrypted: z.nullable(z.boolean()),
})
export type BackupFile = z.infer<typeof backupFileSchema>

const deed = z.enum(['make', 'verify'])

export const backupsSchema = z.strictObject({
  /** The folder of the backups on the machine of the mesh. */
  folder: z.string(),
  /** Newest first. */
  backups: z.array(backupFileSchema),
  /** The operation in progress; null without one. */
  working: z.nullable(
    z.strictObject({
      deed,
      name: backupNameSchema,
      step: messageText,
      bytes: z.number(),
      /** The total; null if unknown beforehand. */
      of: z.nullable(z.number()),
      started_at: z.number(),
    }),
  ),
  /** The result of the last operation since the mesh started; null before the first. */
  last: z.nullable(
    z.strictObject({
      deed,
      name: backupNameSchema,
      ok: z.boolean(),
      /** The result of the operation, or its error and how to repair the error. */
      words: messageText,
      ended_at: z.number(),
    }),
  ),
})
export type BackupsView = z.infer<typeof backupsSchema>

export const backupApi = {
  backups: { response: backupsSchema },
  backupMake: {
    request: z.strictObject({
      /** Null makes a backup without secrets, because nothing would encrypt them. */
      passphrase: z.nullable(passphrase),
    }),
    response: backupsSchema,
  },
  backupVerify: {
    request: z.strictObject({ passphrase: z.nullable(passphrase) }),
    response: backupsSchema,
  },
} as const satisfies Record<keyof typeof backupEndpoints, EndpointSchemas>
