/** The word that begins the command line of a supervisor; no command of the help. */
export const superviseWord = 'supervise-mesh'
