// What an isolate has ready when the image of its heap is taken, so that no run makes it again.
const { create, defineProperty, getOwnPropertyDescriptors, getPrototypeOf } = Object;
const kept = [];

// The engine adds a property to an object by going from its shape, the list of its properties, to the next one. It looks
// for that among the shapes of all objects that are alive and makes it where there is none. So one object is kept for
// each shape on the way to that of the example. A function has two properties, and every promise takes two functions.
export function keepShapes(example) {
  const properties = Object.entries(getOwnPropertyDescriptors(example));
  for (let count = 1; count <= properties.length; count++) {
    const object = create(getPrototypeOf(example));
    for (const [name, property] of properties.slice(0, count)) defineProperty(object, name, { ...property, value: undefined });
    kept.push(object);
  }
}

for (const example of [() => {}, async () => {}, function () {}, { value: 0, done: 0 }]) keepShapes(example);

// The functions of the language are made when somebody asks for them: here, once.
const language = [Array, ArrayBuffer, Function, JSON, Map, Object, Promise, Reflect, RegExp, Set, String];
const iterators = [[].values(), new Map().values(), new Set().values(), "".matchAll(/a/g)].map(getPrototypeOf);
const prototypes = language.map((one) => one.prototype ?? one);
for (const holder of [...language, ...prototypes, ...iterators]) getOwnPropertyDescriptors(holder);
