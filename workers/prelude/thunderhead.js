// What `storm.ts` imports: it only gives the types a place.
export const storm = (described) => described;
