/** Where agents run: in containers on one machine, as plain processes, or as pods of a cluster. */
export const runtimeNames = ['docker', 'process', 'kubernetes'] as const
export type RuntimeName = (typeof runtimeNames)[number]
