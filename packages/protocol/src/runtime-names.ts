/** What agents can be run in: containers of one machine, plain processes, pods of a cluster. */
export const runtimeNames = ['docker', 'process', 'kubernetes'] as const
export type RuntimeName = (typeof runtimeNames)[number]
