/** Where it is set, programs of an agent run with that niceness (1 to 19), so that the agent is served before them. */
export const programNicenessVariable = 'PROGRAM_NICENESS'
