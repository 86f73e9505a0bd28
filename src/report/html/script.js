/* SPDX-License-Identifier: MIT OR Apache-2.0 */
(function(d){
var q=d.getElementById("q"),all=function(s,e){return[].slice.call((e||d).querySelectorAll(s))};
d.documentElement.className="on";
function find(){var w=q.value.toLowerCase().split(/\s+/);
all("[data-id]").forEach(function(e){var id=e.getAttribute("data-id").toLowerCase();e.hidden=!w.every(function(x){return id.indexOf(x)>=0})})}
q&&q.addEventListener("input",find);
function open(){var e=d.getElementById(decodeURIComponent(location.hash.slice(1)));
for(var p=e;p;p=p.parentNode)if(p.tagName=="DETAILS")p.open=true,p.hidden=false;
e&&e.scrollIntoView()}
addEventListener("hashchange",open);location.hash&&open();
all("th[data-sort]").forEach(function(h){h.title="sort";h.onclick=function(){
var i=h.cellIndex,b=h.closest("table").tBodies[0],up=h.up=!h.up;
function key(r){var v=r.cells[i].getAttribute("data-v");return v==null?r.cells[i].textContent:+v}
all(".grp",b).forEach(function(r){r.remove()});
all("tr",b).sort(function(x,y){x=key(x);y=key(y);return(x<y?-1:x>y?1:0)*(up?1:-1)}).forEach(function(r){b.appendChild(r)})}})
})(document)
