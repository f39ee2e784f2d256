/** Text that names alternatives to deleting or archiving the operator. */
export const operatorStaysWords =
  'A fleet always has an operator. To hold its triggers: flotilla pause operator. To restart it: flotilla restart operator. To delete a worker: flotilla delete AGENT. To remove the whole fleet: flotilla reset'
