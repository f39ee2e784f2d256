/** The first argument of a supervisor's command line; not a documented command. */
export const superviseWord = 'supervise-mesh'
/** The same for the command that delays restarts by systemd. */
export const paceWord = 'pace-restarts'
