/** The first argument of a supervisor's command line; not a documented command. */
export const superviseWord = 'supervise-mesh'
