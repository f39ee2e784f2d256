/**
 * If set, programs of an agent run with that niceness (1 to 19), so that the agent itself gets the CPU before
 * them.
 */
export const programNicenessVariable = 'PROGRAM_NICENESS'
